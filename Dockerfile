# Two images: `app` (web, workers, sweeper) and `gpu` (a worker with nvcc and Nsight Compute).
#   docker build --target app -t optimas .
#   docker build --target gpu -t optimas-gpu .

FROM python:3.12-slim-bookworm AS app
# What projects for the processor are built, profiled and sandboxed with.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap g++ make util-linux valgrind \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /optimas
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
RUN useradd --uid 1000 --create-home optimas && install -d -o optimas -g optimas -m 0700 /state
ENV OPTIMAS_STATE=/state PYTHONUNBUFFERED=1
USER optimas
EXPOSE 8000
CMD ["gunicorn", "optimas_web.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "2", "--threads", "8", "--no-control-socket"]

FROM nvidia/cuda:13.0.1-devel-ubuntu24.04 AS gpu
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap cuda-nsight-compute-13-0 g++ make python3-venv util-linux valgrind \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /optimas
COPY requirements.txt .
RUN python3 -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
# Ubuntu's image has a user of this number already; the state volume is shared with the other image by number.
RUN (id 1000 || useradd --uid 1000 --create-home optimas) && install -d -o 1000 -g 1000 -m 0700 /state
ENV OPTIMAS_STATE=/state PATH=/venv/bin:/usr/local/cuda/bin:$PATH PYTHONUNBUFFERED=1
USER 1000
CMD ["celery", "-A", "optimas_web.celery", "worker", "-Q", "gpu", "-c", "1", "-n", "gpu@%h", "--loglevel", "INFO"]
